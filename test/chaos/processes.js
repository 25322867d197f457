import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A process that is started again after it was killed, and prints a line when it is ready. */
export class Restartable {
  #ended

  constructor ({ script, args = [], env = {}, ready }) {
    Object.assign(this, { script, args, env, ready })
  }

  /** Resolves with the content of the line that it prints when it is ready. */
  async start () {
    const { PATH, HOME } = process.env
    this.child = spawn(process.execPath, [this.script, ...this.args], {
      env: { PATH, HOME, ...this.env },
      stdio: ['ignore', 'pipe', 'pipe']
    })
    let lastWords = ''
    this.child.stderr.on('data', text => { lastWords = (lastWords + text).slice(-2_000) })
    this.#ended = once(this.child, 'exit')
    // Read to the end, so that it never waits for a reader.
    const readyText = new Promise((resolve, reject) => {
      this.#ended.then(() => reject(new Error(`${this.script} ended: ${lastWords}`)))
      createInterface(this.child.stdout).on('line', line => {
        if (this.ready.test(line)) resolve(this.ready.exec(line)[0])
      })
    })
    return await readyText
  }

  signal (name) {
    this.child?.kill(name)
  }

  /** Kills it without a shutdown. */
  async kill () {
    this.signal('SIGKILL')
    await this.#ended
  }
}
