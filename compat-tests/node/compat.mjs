// Tests a broker with kafkajs. BOOTSTRAP and CORPUS as for the Go tests; arguments narrow the cases.
// Prints "PASS name" or "FAIL name: why" for each case and "N passed, N failed" at the end.
// kafkajs' consumer is always the member of a group. What was produced is read back by fetch requests of kafkajs' own broker object:
// its protocol code without the group.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(process.env.NODE_HOME ? `${process.env.NODE_HOME}/` : import.meta.url)
const kafkajs = require('kafkajs')
const { Kafka, CompressionTypes, CompressionCodecs, logLevel, ConfigResourceTypes } = kafkajs
const lz4 = require('lz4-napi')
const zstd = require('@bokuweb/zstd-wasm')

const { BOOTSTRAP, CORPUS } = process.env
if (!BOOTSTRAP || !CORPUS) throw new Error('set BOOTSTRAP to the address of a broker and CORPUS to a folder filled by scripts/corpus')

await zstd.init()
CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')
CompressionCodecs[CompressionTypes.LZ4] = () => ({ compress: e => lz4.compressFrame(e.buffer), decompress: b => lz4.decompressFrame(b) })
CompressionCodecs[CompressionTypes.ZSTD] = () => ({ compress: async e => Buffer.from(zstd.compress(e.buffer)), decompress: async b => Buffer.from(zstd.decompress(b)) })

const kafka = new Kafka({ brokers: [BOOTSTRAP], clientId: 'compat', logLevel: logLevel.NOTHING, retry: { retries: 2 }, requestTimeout: 30000 })
const admin = kafka.admin()
await admin.connect()

async function topic (what, partitions = 1, configs = {}) {
  const name = `compat-js-${what}-${randomBytes(5).toString('hex')}`
  const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
  await admin.createTopics({ topics: [{ topic: name, numPartitions: partitions, replicationFactor: 1, configEntries }], waitForLeaders: true })
  return name
}

async function produce (topic, messages, { producer = {}, ...send } = {}) {
  const p = kafka.producer({ createPartitioner: () => ({ message }) => message.partition ?? 0, ...producer })
  await p.connect()
  try {
    return await p.send({ topic, messages, ...send })
  } finally {
    await p.disconnect()
  }
}

// consume reads n records from the partition's start, by fetch requests of a broker object.
async function consume (topic, n, { partition = 0, start = 0, maxBytes = 4 << 20 } = {}) {
  const Cluster = require('kafkajs/src/cluster')
  const { createLogger } = require('kafkajs/src/loggers')
  const socketFactory = require('kafkajs/src/network/socketFactory')()
  const logger = createLogger({ level: logLevel.NOTHING, logCreator: require('kafkajs/src/loggers/console') })
  const cluster = new Cluster({ logger, socketFactory, brokers: [BOOTSTRAP], clientId: 'compat', connectionTimeout: 5000, requestTimeout: 30000, metadataMaxAge: 300000, allowAutoTopicCreation: false, retry: { retries: 2 }, maxInFlightRequests: null, isolationLevel: 1, offsets: new Map() })
  await cluster.connect()
  try {
    await cluster.addTargetTopic(topic)
    const leader = Object.keys(cluster.findLeaderForPartitions(topic, [partition]))[0]
    const broker = await cluster.findBroker({ nodeId: leader })
    const got = []
    for (let at = start; got.length < n;) {
      const r = await broker.fetch({ maxWaitTime: 2000, minBytes: 1, maxBytes: 64 << 20, isolationLevel: 1, topics: [{ topic, partitions: [{ partition, fetchOffset: String(at), maxBytes }] }] })
      const messages = r.responses[0].partitions[0].messages.filter(m => Number(m.offset) >= at)
      assert.ok(messages.length > 0, `${got.length} of ${n} records`)
      got.push(...messages)
      at = Number(got.at(-1).offset) + 1
    }
    assert.equal(got.length, n)
    return got
  } finally {
    await cluster.disconnect()
  }
}

const series = n => Array.from({ length: n }, (_, i) => ({ key: `k${i}`, value: `${i} ${'kaja'.repeat(i % 50)}`, timestamp: String(1_700_000_000_000 + i), headers: { i: String(i) } }))

function same (got, want) {
  want.forEach((w, i) => {
    assert.equal(Number(got[i].offset), i)
    assert.equal(got[i].key?.toString(), w.key)
    assert.equal(got[i].value?.toString(), w.value)
    if (w.timestamp) assert.equal(got[i].timestamp, w.timestamp)
    if (w.headers) assert.equal(got[i].headers.i.toString(), w.headers.i)
  })
}

const fails = (type, call) => assert.rejects(call, e => {
  const got = e.type ?? e.errors?.[0]?.type ?? e.cause?.type
  assert.equal(got, type, `${e}`)
  return true
})

const cases = {
  nulls: async () => {
    const t = await topic('nulls')
    await produce(t, [{ key: null, value: null }, { key: '', value: '' }, { key: 'k', value: null }, { value: 'v', headers: { a: ['1', '2'] } }])
    const got = await consume(t, 4)
    assert.deepEqual([got[0].key, got[0].value, got[2].value], [null, null, null])
    assert.equal(got[1].value.length, 0)
    assert.deepEqual(got[3].headers.a.map(String), ['1', '2'])
  },
  text: async () => {
    const t = await topic('text')
    const text = readFileSync(`${CORPUS}/text.txt`)
    const lines = text.toString().split('\n').slice(0, -1)
    assert.ok(lines.length >= 100_000, `the text has only ${lines.length} lines`)
    for (let i = 0; i < lines.length; i += 20_000) await produce(t, lines.slice(i, i + 20_000).map(value => ({ value })), { compression: CompressionTypes.GZIP })
    const back = (await consume(t, lines.length)).map(m => `${m.value}\n`).join('')
    assert.ok(Buffer.from(back).equals(text), 'the text came back different')
  },
  binaries: async () => {
    const t = await topic('binary', 1, { 'max.message.bytes': '12000000' })
    const files = ['1B.bin', '100kB.bin', '1MB.bin', '5MB.bin', '10MB.bin']
    for (const f of files) await produce(t, [{ value: readFileSync(`${CORPUS}/${f}`) }])
    const got = await consume(t, files.length)
    files.forEach((f, i) => assert.ok(got[i].value.equals(readFileSync(`${CORPUS}/${f}`)), `${f} came back different`))
  },
  offsets: async () => {
    const t = await topic('offsets')
    await produce(t, series(100))
    const [{ low, high }] = await admin.fetchTopicOffsets(t)
    assert.deepEqual([low, high], ['0', '100'])
    assert.equal((await admin.fetchTopicOffsetsByTimestamp(t, 1_700_000_000_042))[0].offset, '42')
    await fails('OFFSET_OUT_OF_RANGE', () => consume(t, 1, { start: 101 }))
  },
  topics: async () => {
    const t = await topic('topics', 2)
    const [meta] = (await admin.fetchTopicMetadata({ topics: [t] })).topics
    assert.equal(meta.partitions.length, 2)
    assert.equal(await admin.createTopics({ topics: [{ topic: t }] }), false) // it exists
    await fails('INVALID_TOPIC_EXCEPTION', () => admin.createTopics({ topics: [{ topic: 'a/b' }] }))
    await admin.createPartitions({ topicPartitions: [{ topic: t, count: 4 }] })
    assert.equal((await admin.fetchTopicMetadata({ topics: [t] })).topics[0].partitions.length, 4)
    assert.ok((await admin.listTopics()).includes(t))
    await admin.deleteTopics({ topics: [t] })
    assert.ok(!(await admin.listTopics()).includes(t))
  },
  configs: async () => {
    const t = await topic('configs', 1, { 'retention.ms': '7200000' })
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: t }]
    const value = async key => (await admin.describeConfigs({ includeSynonyms: false, resources })).resources[0].configEntries.find(e => e.configName === key).configValue
    assert.equal(await value('retention.ms'), '7200000')
    await admin.alterConfigs({ resources: [{ ...resources[0], configEntries: [{ name: 'max.message.bytes', value: '1000' }] }] })
    assert.equal(await value('max.message.bytes'), '1000')
    assert.equal(await value('retention.ms'), '604800000') // the old AlterConfigs replaces all
    await fails('MESSAGE_TOO_LARGE', () => produce(t, [{ value: 'x'.repeat(2000) }]))
  },
  'delete-records': async () => {
    const t = await topic('delete')
    await produce(t, series(50))
    await admin.fetchTopicOffsets(t) // kafkajs looks for leaders only among the topics that it has met
    await admin.deleteTopicRecords({ topic: t, partitions: [{ partition: 0, offset: '30' }] })
    assert.equal((await admin.fetchTopicOffsets(t))[0].low, '30')
    await fails('OFFSET_OUT_OF_RANGE', () => consume(t, 1, { start: 29 }))
    assert.equal((await consume(t, 20, { start: 30 }))[0].offset, '30')
  },
  cluster: async () => {
    const c = await admin.describeCluster()
    assert.equal(c.brokers.length, 1)
    assert.equal(c.clusterId.length, 22)
  }
}
for (const [what, compression] of Object.entries({ none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, lz4: CompressionTypes.LZ4, zstd: CompressionTypes.ZSTD })) {
  cases[`codec-${what}`] = async () => {
    const t = await topic('codec')
    const want = series(1000)
    await produce(t, want, { compression })
    same(await consume(t, want.length), want)
  }
}
for (const acks of [0, 1, -1]) {
  cases[`acks${acks}`] = async () => {
    const t = await topic('acks')
    const want = series(500)
    for (let i = 0; i < 500; i += 100) await produce(t, want.slice(i, i + 100), { acks })
    same(await consume(t, want.length), want)
  }
}
cases['acks-idempotent'] = async () => {
  const t = await topic('idem')
  const want = series(500)
  await produce(t, want, { producer: { idempotent: true } })
  same(await consume(t, want.length), want)
}

let passed = 0
let failed = 0
const only = process.argv.slice(2)
for (const [name, run] of Object.entries(cases)) {
  if (only.length && !only.includes(name)) continue
  try {
    await run()
    console.log(`PASS ${name}`)
    passed++
  } catch (e) {
    console.log(`FAIL ${name}: ${e.stack}`)
    failed++
  }
}
await admin.disconnect()
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 && passed > 0 ? 0 : 1)
