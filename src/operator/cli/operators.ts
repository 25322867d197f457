import type { Command } from 'commander'
import { operators as operations, peopleOperations } from '../../control-plane/admin-api/people-operations.js'
import { ControlError } from '../../control-plane/store/control-error.js'
import { normalizeEmail } from '../../control-plane/store/members.js'
import type { Control } from './context.js'

/** Adds the commands on operators, for people who can no longer sign in to the dashboard. */
export function addOperators (program: Command, { print }: Control): void {
  const operators = program.command('operators').description('manage operators, who can do everything in the dashboard')
  operators.command('list').description('print the operators')
    .action(() => print(call => call(operations.listMembers, {})))
  operators
    .command('reset-password')
    .description("print a temporary password for an operator's next sign-in; the current password and all sessions end")
    .requiredOption('--email <email>', "the operator's email address")
    .action(({ email }: { email: string }) =>
      print(async call => {
        const found = (await call(operations.listMembers, {})).find(
          member => member.email === normalizeEmail(email) && !member.isFromProvider
        )
        if (found === undefined) {
          throw new ControlError(
            'missing',
            'No operator with this address has a local password. clinigate operators list prints all operators.'
          )
        }
        return await call(peopleOperations.resetPassword, { memberId: found.memberId })
      })
    )
}
