import t from 'tap'
import { probeForeignSubscriptions } from './foreign-subscriptions.js'

t.test('a subscription of another tenant or of the other mode gets the same response as an unknown one', t =>
  probeForeignSubscriptions(t))
