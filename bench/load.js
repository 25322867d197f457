// Asks for one address with so many connections until it is told to end, then prints what came: a process of its own,
// so that it takes no time of who measures.
// Usage: node bench/load.js <url> <key> <connections>
import autocannon from 'autocannon'

const [url, key, connections] = process.argv.slice(2)
const load = autocannon({ url, headers: { 'x-api-key': key }, connections: Number(connections), duration: 3_600 })
process.once('SIGTERM', () => load.stop())
const { '2xx': served, '4xx': refused, '5xx': failed, duration } = await load
console.log(JSON.stringify({ served, refused, failed, seconds: duration }))
