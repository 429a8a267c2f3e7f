// The member of a consumer group by kafkajs: member.mjs BOOTSTRAP TOPIC GROUP. It talks as groups/member says.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const require = createRequire(process.env.NODE_HOME ? `${process.env.NODE_HOME}/` : import.meta.url)
const { Kafka, logLevel } = require('kafkajs')

const [bootstrap, topic, groupId] = process.argv.slice(2)
const now = () => Math.round((performance.timeOrigin + performance.now()) * 1000)
const say = line => process.stdout.write(`${line}\n`)

const kafka = new Kafka({ brokers: [bootstrap], clientId: 'member', logLevel: logLevel.NOTHING })
let consumer
let closing = false
const input = createInterface({ input: process.stdin })
input.on('line', async line => {
  if (line !== 'close') return
  closing = true
  await consumer.disconnect()
  process.exit(0)
})
input.on('close', () => { if (!closing) process.exit(1) })

async function start () {
  consumer = kafka.consumer({ groupId, sessionTimeout: 6000, rebalanceTimeout: 6000, heartbeatInterval: 1000, maxWaitTimeInMs: 200 })
  consumer.on(consumer.events.GROUP_JOIN, e => say(`own ${(e.payload.memberAssignment[topic] ?? []).join(',')}`))
  consumer.on(consumer.events.REBALANCING, () => say('own'))
  // kafkajs ends for good when a member that went on after a pause meets an error of its group in the wrong moment: another one takes over.
  consumer.on(consumer.events.CRASH, e => {
    say(`crash ${e.payload.error}`)
    if (e.payload.restart || closing) return
    say('own')
    start()
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch, resolveOffset, heartbeat, isRunning, isStale }) => {
      for (const m of batch.messages) {
        if (!isRunning() || isStale()) return
        say(`got ${batch.partition} ${m.offset} ${now()}`)
        resolveOffset(m.offset)
        const next = (BigInt(m.offset) + 1n).toString()
        await consumer.commitOffsets([{ topic, partition: batch.partition, offset: next }])
        say(`committed ${batch.partition} ${next} ${now()}`)
        await heartbeat()
      }
    }
  })
}

await start()
