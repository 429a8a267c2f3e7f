package protocol

// RequestHeader is the decoded header of a request (v1 or v2; v0 only for ControlledShutdown, which is not served).
type RequestHeader struct {
	Key           int16
	Version       int16
	CorrelationID int32
	ClientID      *string // nil is null; aliases nothing
	Flexible      bool    // header v2: tagged fields follow
}
