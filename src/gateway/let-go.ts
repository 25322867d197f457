import fp from 'fastify-plugin'

/**
 * Lets go of connections while the server closes. One whose answer had begun before could not be told that it ends with it, and would
 * hold the server up for as long as an idle connection may last.
 */
export const letGo = fp(async app => {
  let isClosing = false
  app.addHook('preClose', async () => { isClosing = true })
  app.addHook('onResponse', async () => {
    // The connection is idle once the server has seen the answer's end, too.
    if (isClosing) setImmediate(() => app.server.closeIdleConnections())
  })
}, { name: 'let-go', fastify: '5.x' })
