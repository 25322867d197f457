import { test } from 'tap'
import { command } from '../cli/command.js'

// The command answered with who belongs to what, and named no option.
test('a token of the command line says which option its role lacks or has too many', async t => {
  const create = (...args: string[]) => command({}, 'tokens', 'create', '--name', 'ci', ...args)
  for (const role of ['admin', 'viewer']) {
    t.match(await create('--role', role), {
      code: 2,
      out: '',
      err: `error: a token with the role ${role} belongs to an organization; name it with --tenant <tenantId>. clinigate orgs list prints all.\n`
    })
  }
  for (const role of ['operator', 'gateway']) {
    t.match(await create('--role', role, '--tenant', 'org-x'), {
      code: 2,
      out: '',
      err: `error: a token with the role ${role} belongs to no organization; leave out --tenant.\n`
    })
  }
})
