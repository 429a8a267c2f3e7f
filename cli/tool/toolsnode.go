package tool

// nodeTools work on the files and the process of one broker, or move replicas and transactions.
func nodeTools() []Tool {
	return nil
}
