module github.com/kaja-mq/kaja/compat-tests/librdkafka

go 1.26.0

require github.com/confluentinc/confluent-kafka-go/v2 v2.11.1

require github.com/kaja-mq/kaja/compat-tests v0.0.0

replace github.com/kaja-mq/kaja/compat-tests => ../
