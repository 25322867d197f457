/**
 * `node --import '…/replace-modules.js?texts=FILE'`: loads modules from the texts of a JSON file, by their URLs, in
 * place of what stands there. Its threads do the same, since they inherit the option.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const texts = JSON.parse(readFileSync(new URL(import.meta.url).searchParams.get('texts'), 'utf8'))

registerHooks({
  load (url, context, next) {
    return Object.hasOwn(texts, url) ? { source: texts[url], format: 'module', shortCircuit: true } : next(url, context)
  }
})
