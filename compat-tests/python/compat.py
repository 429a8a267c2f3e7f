"""Tests a broker with kafka-python. BOOTSTRAP and CORPUS as for the Go tests; arguments narrow the cases.

Prints "PASS name" or "FAIL name: why" for each case and "N passed, N failed" at the end.
"""
import os
import secrets
import sys
import time
import traceback
from pathlib import Path

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, NewTopic
from kafka import errors

BOOTSTRAP = os.environ["BOOTSTRAP"]
CORPUS = Path(os.environ["CORPUS"])
BINARIES = ["1B.bin", "100kB.bin", "1MB.bin", "5MB.bin", "10MB.bin"]
LIMIT = 60  # seconds for one wait
admin = KafkaAdminClient(bootstrap_servers=BOOTSTRAP)


def topic(what, partitions=1, configs=None):
    name = f"compat-py-{what}-{secrets.token_hex(5)}"
    admin.create_topics([NewTopic(name, partitions, 1, topic_configs=configs or {})], wait_for_metadata=True)
    return name


def produce(records, **settings):
    """records are dicts of send's arguments; returns their metadata in order."""
    p = KafkaProducer(bootstrap_servers=BOOTSTRAP, max_request_size=12 << 20, **settings)
    try:
        futures = [p.send(**r) for r in records]
        p.flush(timeout=LIMIT)
        return [f.get(timeout=LIMIT) for f in futures]
    finally:
        p.close(timeout=5)


def consume(name, n, partition=0, start=0, **settings):
    c = KafkaConsumer(bootstrap_servers=BOOTSTRAP, auto_offset_reset="none", enable_auto_commit=False, max_partition_fetch_bytes=4 << 20, **settings)
    try:
        tp = TopicPartition(name, partition)
        c.assign([tp])
        c.seek(tp, start)
        got, end = [], time.monotonic() + LIMIT
        while len(got) < n and time.monotonic() < end:
            for rs in c.poll(timeout_ms=500).values():
                got += rs
    finally:
        c.close()
    eq("number of records", len(got), n)
    return got


def eq(what, got, want):
    if got != want:
        clip = lambda v: repr(v) if len(repr(v)) < 200 else repr(v)[:200] + "…"
        raise AssertionError(f"{what}: got {clip(got)}, want {clip(want)}")


def fails(what, error, call):
    try:
        got = call()
    except error:
        return
    except Exception as e:
        raise AssertionError(f"{what}: got {e!r}, want {error.__name__}")
    raise AssertionError(f"{what}: got {got!r}, want {error.__name__}")


def series(name, n, base, partition=0):
    return [dict(topic=name, partition=partition, key=b"k%d" % i, value=b"%d " % i + b"kaja" * (i % 50), timestamp_ms=base + i) for i in range(n)]


def codec(kind):
    def case():
        t = topic("codec", 2)
        want = series(t, 1000, 1_700_000_000_000, partition=1)
        for r in want:
            r["headers"] = [("i", r["key"])]
        meta = produce(want, compression_type=kind, linger_ms=5)
        eq("offsets", [m.offset for m in meta], list(range(1000)))
        got = consume(t, 1000, partition=1)
        eq("records", [(r.key, r.value, r.timestamp, [tuple(h) for h in r.headers]) for r in got], [(r["key"], r["value"], r["timestamp_ms"], r["headers"]) for r in want])
    return case


def acks(kind, idempotent=False):
    def case():
        t = topic("acks")
        want = series(t, 1000, 1_700_000_000_000)
        produce(want, acks=kind, enable_idempotence=idempotent, batch_size=2000)
        eq("values", [r.value for r in consume(t, 1000)], [r["value"] for r in want])
    return case


def nulls():
    t = topic("nulls")
    produce([dict(topic=t, key=None, value=b""), dict(topic=t, key=b"k", value=None), dict(topic=t, key=b"", value=b"v", headers=[("a", b"1"), ("a", b""), ("", b"x")])])
    got = consume(t, 3)
    eq("records", [(r.key, r.value) for r in got], [(None, b""), (b"k", None), (b"", b"v")])
    eq("headers", [tuple(h) for h in got[2].headers], [("a", b"1"), ("a", b""), ("", b"x")])


def text():
    t = topic("text")
    data = (CORPUS / "text.txt").read_bytes()
    lines = data.split(b"\n")[:-1]
    if len(lines) < 100_000:
        raise AssertionError(f"the text has only {len(lines)} lines")
    produce([dict(topic=t, value=line) for line in lines], compression_type="gzip", linger_ms=20, batch_size=200_000)
    eq("text", b"".join(r.value + b"\n" for r in consume(t, len(lines))), data)


def binaries():
    t = topic("binary", configs={"max.message.bytes": "12000000"})
    for f in BINARIES:
        produce([dict(topic=t, value=(CORPUS / f).read_bytes())])
    for f, r in zip(BINARIES, consume(t, len(BINARIES))):
        if r.value != (CORPUS / f).read_bytes():
            raise AssertionError(f"{f} came back different")


def offsets():
    t = topic("offsets")
    tp = TopicPartition(t, 0)
    base = int(time.time() * 1000) - 3_600_000
    produce(series(t, 100, base), batch_size=500)
    c = KafkaConsumer(bootstrap_servers=BOOTSTRAP)
    try:
        eq("beginning", c.beginning_offsets([tp])[tp], 0)
        eq("end", c.end_offsets([tp])[tp], 100)
        at = c.offsets_for_times({tp: base + 42})[tp]
        eq("offset of a time", (at.offset, at.timestamp), (42, base + 42))
        eq("a time past the end", c.offsets_for_times({tp: base + 1000})[tp], None)
        eq("partitions", c.partitions_for_topic(t), {0})
    finally:
        c.close()
    fails("consume past the end", errors.OffsetOutOfRangeError, lambda: consume(t, 1, start=101))


def topics():
    t = topic("topics", 2)
    d = admin.describe_topics([t])[0]
    eq("partitions", len(d["partitions"]), 2)
    fails("create twice", errors.TopicAlreadyExistsError, lambda: admin.create_topics([NewTopic(t, 1, 1)]))
    fails("bad name", errors.InvalidTopicError, lambda: admin.create_topics([NewTopic("a/b", 1, 1)]))
    fails("too many replicas", errors.InvalidReplicationFactorError, lambda: admin.create_topics([NewTopic(t + "x", 1, 7)]))
    admin.create_partitions({t: 4})
    eq("grown", len(admin.describe_topics([t])[0]["partitions"]), 4)
    fails("shrink", errors.InvalidPartitionsError, lambda: admin.create_partitions({t: 1}))
    eq("listed", t in admin.list_topics(), True)
    admin.delete_topics([t])
    eq("listed after its end", t in admin.list_topics(), False)
    fails("delete twice", errors.UnknownTopicOrPartitionError, lambda: admin.delete_topics([t]))


def configs():
    t = topic("configs", configs={"retention.ms": "7200000"})
    value = lambda key: admin.describe_configs([ConfigResource("topic", t)], config_filter="all")["topic"][t][key]["value"]
    eq("retention.ms", value("retention.ms"), "7200000")
    admin.alter_configs([ConfigResource("topic", t, {"max.message.bytes": "1000"})], incremental=True)
    eq("max.message.bytes", value("max.message.bytes"), "1000")
    eq("retention.ms afterwards", value("retention.ms"), "7200000")
    fails("1000 bytes are allowed", errors.MessageSizeTooLargeError, lambda: produce([dict(topic=t, value=b"x" * 2000)]))
    answer = admin.alter_configs([ConfigResource("topic", t, {"cleanup.policy": "shred"})], incremental=True)["topic"][t]
    eq("bad value", "InvalidConfigurationError" in answer, True)


def delete_records():
    t = topic("delete")
    tp = TopicPartition(t, 0)
    produce(series(t, 50, 1_700_000_000_000))
    admin.delete_records({tp: 30})
    eq("first left", consume(t, 20, start=30)[0].offset, 30)
    fails("what was deleted", errors.OffsetOutOfRangeError, lambda: consume(t, 1, start=29))


def cluster():
    c = admin.describe_cluster()
    eq("brokers", len(c["brokers"]), 1)
    eq("log dirs", len(admin.describe_log_dirs()), 1)


CASES = {f"codec-{k or 'none'}": codec(k) for k in (None, "gzip", "snappy", "lz4", "zstd")}
CASES |= {"acks-0": acks(0), "acks-1": acks(1), "acks-all": acks("all"), "acks-idempotent": acks("all", True)}
CASES |= {"nulls": nulls, "text": text, "binaries": binaries, "offsets": offsets, "topics": topics, "configs": configs, "delete-records": delete_records, "cluster": cluster}


def main():
    passed = failed = 0
    for name, case in CASES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        try:
            case()
            print("PASS", name, flush=True)
            passed += 1
        except Exception as e:
            print(f"FAIL {name}: {e!r}", flush=True)
            if not isinstance(e, AssertionError):
                traceback.print_exc(file=sys.stdout)
            failed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


main()
