package tool

// clientTools produce, consume and look after groups.
func clientTools() []Tool {
	return []Tool{consoleConsumerTool(), consoleProducerTool(), producerPerfTool(), consumerGroupsTool(), consumerPerfTool(), groupsTool()}
}
