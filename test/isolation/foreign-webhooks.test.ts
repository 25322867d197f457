import t from 'tap'
import { probeForeignWebhooks } from './foreign-webhooks.js'

t.test('a webhook of another tenant or of the other mode gets the same response as an unknown one', t =>
  probeForeignWebhooks(t))
