import t from 'tap'
import { probeForeignSubscriptions } from './foreign-subscriptions.js'

t.test("another tenant's subscription, and that of the other mode, is answered as one that never was", t =>
  probeForeignSubscriptions(t))
