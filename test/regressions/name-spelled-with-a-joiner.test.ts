import t from 'tap'
import { parseName } from '../../src/control-plane/store/validate-name.js'

// Joiners have no look of their own, so names that can't be spelled without them were refused like names with control
// characters.
t.test('a name may have the joiners that its script is spelled with', async t => {
  for (const name of ['درمانگاه می\u200cبینم', 'ශ්\u200dරී ජයවර්ධන', 'राजकीय क्\u200dलिनिक', 'മലയാള\u0d4d\u200dയ']) {
    t.equal(parseName(` ${name} `), name)
  }
})

t.test('a name may have an emoji that is made of several', async t => {
  for (const name of ['👩‍⚕️ Praxis am See', '🏳️‍🌈 Clinic', '👨🏽‍⚕️']) t.equal(parseName(name), name)
})

t.test('nowhere else, since two names would look like one', async t => {
  for (const name of [
    'Cli\u200dnic',
    'می\u200c',
    '\u200cمی',
    'می\u200c\u200cبینم',
    'می \u200cبینم',
    'क\u200dA',
    'A\u200c',
    'می\u200eبینم',
    'a\u0000b',
    'a\u202eb',
    '\ud800',
    '👩\u200d👩',
    '👩\u200d',
    '👩\u200dA'
  ]) {
    t.throws(() => parseName(name), { name: 'ControlError', message: /all of them visible/ }, JSON.stringify(name))
  }
})
