// history drives a broker by a random history of transactions and kills, and checks what readers saw.
//
//	history [-seed N] [-for 60s] [-writers 6] [-addr 127.0.0.1:29600] -- kaja serve --override …
//
// Writers, one per transactional id, speak the protocol themselves, in both ways to add partitions: they produce, commit offsets, commit, abort, send
// batches again, are fenced by a second instance and go on as zombies. Others write without transactions. The broker is killed with SIGKILL all the
// while. Readers of both isolation levels follow every partition. What fails a run, with the seed to see it again:
//
//   - a record that was acknowledged is not there, or not at its offset; a record is there twice; a writer's records are not in its order
//   - a reader of committed records gets one whose transaction is open or aborted, or does not get one that was committed; a transaction is
//     seen in part; a reader sees another order than the log has
//   - what a fenced producer does is accepted
//   - committed offsets are not those of the last committed transaction
//   - when all is done, the last stable offset stays below the end: a transaction hangs
//   - an error that no kill explains
package main
