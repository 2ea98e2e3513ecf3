// node clients.js HOST PORT: node-redis and ioredis, each in RESP2 and RESP3,
// against a dedupd. Ends at the first difference, or at any error or warning.
import assert from 'node:assert/strict'
import { Redis } from 'ioredis'
import { createClient } from 'redis'

const [host, port] = [process.argv[2], Number(process.argv[3])]
const run = process.pid // keys of this run

const fail = (what) => (problem) => {
  console.error(`${what}:`, problem)
  process.exit(1)
}
process.on('warning', fail('warning'))
process.on('unhandledRejection', fail('unhandled rejection'))
for (const level of ['warn', 'error']) {
  const print = console[level]
  console[level] = (...args) => {
    print(...args)
    process.exitCode = 1
  }
}

// Each client under test: call sends a command, pipeline several at once,
// multi several in a transaction whose failures are values.
async function nodeRedis(RESP) {
  const client = createClient({ socket: { host, port, reconnectStrategy: false }, RESP, name: 'node-redis' })
  client.on('error', fail('node-redis'))
  await client.connect()
  return {
    name: `node-redis RESP${RESP}`,
    call: (...args) => client.sendCommand(args),
    pipeline: (commands) => Promise.all(commands.map((args) => client.sendCommand(args))),
    async multi(commands) {
      const multi = client.multi()
      for (const args of commands) multi.addCommand(args)
      return (await multi.exec().catch(errorReplies)).map(valueOrError)
    },
    info: () => client.info('server'),
    close: () => client.close(),
  }
}

// node-redis rejects a transaction with failures; its error has all replies.
function errorReplies(error) {
  if (!Array.isArray(error.replies)) throw error
  return error.replies
}

const valueOrError = (reply) => (reply instanceof Error ? reply.message : reply)

async function ioRedis(protocol) {
  const client = new Redis({ host, port, protocol, connectionName: 'ioredis', retryStrategy: null, lazyConnect: true })
  client.on('error', fail('ioredis'))
  await client.connect()
  const send = async (batch) => (await batch.exec()).map(([error, value]) => (error ? error.message : value))
  return {
    name: `ioredis RESP${protocol}`,
    call: (...args) => client.call(...args),
    pipeline: (commands) => send(client.pipeline(commands.map((args) => ['call', ...args]))),
    multi: (commands) => send(client.multi(commands.map((args) => ['call', ...args]))),
    info: () => client.info('server'),
    close: () => client.quit(),
  }
}

// The three calls of a recommender: what is unseen, marked as delivered; what
// was played; and which candidates were seen.
async function recommender({ call }, key) {
  const candidates = Array.from({ length: 200 }, (_, i) => `video-${i}`)
  const page = ['DEDUP.FILTER', key, 'LIMIT', '20', 'MARK', 'TOKEN', 'page-1', 'ITEMS', ...candidates]
  const first = await call(...page)
  assert.deepEqual(first, candidates.slice(0, 20))
  assert.deepEqual(await call(...page), first, 'a retry gets the same answer')
  assert.equal(await call('DEDUP.ADD', key, 'video-0', 'video-1', 'video-100'), 3)
  assert.equal(await call('DEDUP.ADD', key, 'video-0'), 0)
  const seen = await call('DEDUP.MEXISTS', key, ...candidates)
  assert.deepEqual(seen, candidates.map((_, i) => (i < 20 || i === 100 ? 1 : 0)))
  assert.deepEqual(await call('DEDUP.FILTER', key, 'LIMIT', '2', 'WITHINDEX', 'ITEMS', ...candidates), [20, 21])
  assert.equal(await call('DEDUP.CARD', key), 3)
  const [[item, time]] = await call('DEDUP.RECENT', key, 'COUNT', '1')
  assert.equal(item, 'video-19')
  assert.ok(Math.abs(Date.now() - time) < 60_000)
}

async function pipelines({ pipeline, call }, key) {
  const commands = Array.from({ length: 1000 }, (_, i) => ['DEDUP.MADD', key, `a${i}`, `a${i >> 1}`])
  const replies = await pipeline(commands)
  assert.deepEqual(replies, commands.map(() => [1, 0]))
  assert.equal(await call('DEDUP.CARD', key), 1000)
}

async function transactions({ multi, call }, key) {
  const replies = await multi([
    ['DEDUP.ADD', key, 'a', 'b'],
    ['DEDUP.MEXISTS', key, 'a', 'z'],
    ['DEDUP.FILTER', key, 'LIMIT', '0', 'ITEMS', 'a'],
    ['DEDUP.FILTER', key, 'ITEMS', 'a', 'y'],
  ])
  assert.deepEqual(replies, [2, [1, 0], "ERR LIMIT '0' is not an integer from 1 to 2147483647", ['y']])
  await assert.rejects(multi([['DEDUP.ADD', key, 'c'], ['DEDUP.ADD', key]]), /EXECABORT|wrong number of arguments/)
  assert.equal(await call('DEDUP.EXISTS', key, 'c'), 0)
}

async function errors({ call }, key) {
  for (const [args, message] of [
    [['DEDUP.ADD', key], "ERR wrong number of arguments for 'dedup.add' command"],
    [['NOSUCH', 'a', 'b'], "ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' "],
    [['DEDUP.FILTER', key, 'x', 'y', 'z'], "ERR syntax error: 'x' before ITEMS; valid: LIMIT, MARK, TOKEN, WITHINDEX, LAYER"],
    [['CLIENT', 'CACHING', 'YES'], "ERR unknown subcommand 'CACHING'. Try CLIENT HELP."],
  ]) {
    await assert.rejects(call(...args), { message })
  }
  assert.equal(await call('PING'), 'PONG')
}

async function introspection({ name, call, info }) {
  assert.equal(await call('CLIENT', 'GETNAME'), name.split(' ')[0])
  assert.match(await call('CLIENT', 'INFO'), new RegExp(`resp=${name.at(-1)} lib-name=\\S+`))
  assert.match(await info(), /redis_version:7\.\d+\.\d+\r\n/)
  assert.ok((await call('COMMAND')).some(([command, arity, , ...keys]) => command === 'dedup.filter' && arity === -4 && keys.slice(0, 3).join() === '1,1,1'))
}

for (const connect of [nodeRedis, ioRedis]) {
  for (const protocol of [2, 3]) {
    const client = await connect(protocol)
    for (const test of [recommender, pipelines, transactions, errors]) {
      await test(client, `clients:${run}:${client.name}:${test.name}`)
    }
    await introspection(client)
    await client.close()
    console.log(`${client.name}: ok`)
  }
}
