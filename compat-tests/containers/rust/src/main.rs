//! Starts the image by Testcontainers' module for Rust, produces and consumes. One line for each case, PASS or FAIL.
use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

use rskafka::client::partition::{Compression, OffsetAt, UnknownTopicHandling};
use rskafka::client::ClientBuilder;
use rskafka::record::Record;
use testcontainers_modules::kafka::{apache, confluent};
use testcontainers_modules::testcontainers::core::ContainerPort;
use testcontainers_modules::testcontainers::runners::AsyncRunner;
use testcontainers_modules::testcontainers::{ContainerRequest, Image, ImageExt};

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::main]
async fn main() {
    let results = [
        ("apache/kafka-native:3.8.0", run(apache::Kafka::default().into(), apache::KAFKA_PORT).await),
        ("apache/kafka:3.8.0", run(apache::Kafka::default().with_jvm_image().into(), apache::KAFKA_PORT).await),
        ("apache/kafka:4.4.0", run(apache::Kafka::default().with_jvm_image().with_tag("4.4.0"), apache::KAFKA_PORT).await),
        ("the image's own name", run(apache::Kafka::default().with_name("localhost/kaja").with_tag("4.4.0"), apache::KAFKA_PORT).await),
        ("cp-kafka:6.1.1, ZooKeeper", run(confluent::Kafka::default().into(), confluent::KAFKA_PORT).await),
    ];
    let mut failed = 0;
    for (name, result) in results {
        match result {
            Ok(()) => println!("PASS rust {name}"),
            Err(e) => {
                failed += 1;
                println!("FAIL rust {name}: {e:?}");
            }
        }
    }
    std::process::exit(i32::from(failed > 0));
}

async fn run<I: Image>(image: ContainerRequest<I>, port: ContainerPort) -> Outcome {
    let begin = Instant::now();
    let container = image.with_startup_timeout(Duration::from_secs(60)).start().await?;
    println!("  ready after {:.2} s", begin.elapsed().as_secs_f64());
    let port = container.get_host_port_ipv4(port).await?;
    tokio::time::timeout(Duration::from_secs(30), copy_one(format!("127.0.0.1:{port}"))).await??;
    Ok(())
}

/// Produces a record and reads it back.
async fn copy_one(bootstrap: String) -> Outcome {
    let client = ClientBuilder::new(vec![bootstrap]).build().await?;
    client.controller_client()?.create_topic("modules", 1, 1, 5_000).await?;
    let partition = client.partition_client("modules", 0, UnknownTopicHandling::Retry).await?;
    let record = Record { key: None, value: Some(b"hello".to_vec()), headers: BTreeMap::new(), timestamp: chrono::DateTime::UNIX_EPOCH };
    partition.produce(vec![record], Compression::NoCompression).await?;
    let first = partition.get_offset(OffsetAt::Earliest).await?;
    let (records, _) = partition.fetch_records(first, 1..1_000_000, 10_000).await?;
    match records.first().and_then(|r| r.record.value.as_deref()) {
        Some(b"hello") => Ok(()),
        got => Err(format!("consumed {got:?}, want hello").into()),
    }
}
