import t from 'tap'
import { probeForeignWebhooks } from './foreign-webhooks.js'

t.test("another tenant's webhook, and that of the other mode, is answered as one that never was", t =>
  probeForeignWebhooks(t))
