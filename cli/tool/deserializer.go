package tool

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// deserializer prints the bytes of a key, a value or a header as Kafka's class of that name would have its object print itself.
type deserializer func(b []byte) (string, error)

const serializationPackage = "org.apache.kafka.common.serialization."

// newDeserializer finds one by the name of its class.
func newDeserializer(class string) (deserializer, error) {
	name, ok := strings.CutPrefix(class, serializationPackage)
	if ok {
		switch name {
		case "StringDeserializer":
			return func(b []byte) (string, error) { return javaString(b), nil }, nil
		case "ByteArrayDeserializer":
			return printByteArray, nil
		case "BytesDeserializer":
			return printBytes, nil
		case "ByteBufferDeserializer":
			return printByteBuffer, nil
		case "BooleanDeserializer":
			return printBoolean, nil
		case "ShortDeserializer":
			return sized("ShortDeserializer", 2, func(b []byte) string { return fmt.Sprint(int16(binary.BigEndian.Uint16(b))) }), nil
		case "IntegerDeserializer":
			return sized("IntegerDeserializer", 4, func(b []byte) string { return fmt.Sprint(int32(binary.BigEndian.Uint32(b))) }), nil
		case "LongDeserializer":
			return sized("LongDeserializer", 8, func(b []byte) string { return fmt.Sprint(int64(binary.BigEndian.Uint64(b))) }), nil
		case "FloatDeserializer":
			return sized("Deserializer", 4, func(b []byte) string {
				return javaFloating(float64(math.Float32frombits(binary.BigEndian.Uint32(b))), 32)
			}), nil
		case "DoubleDeserializer":
			return sized("Deserializer", 8, func(b []byte) string {
				return javaFloating(math.Float64frombits(binary.BigEndian.Uint64(b)), 64)
			}), nil
		case "UUIDDeserializer":
			return printUUID, nil
		case "VoidDeserializer":
			return func([]byte) (string, error) {
				return "", thrown(classIllegalArgument, "Data should be null for a VoidDeserializer.")
			}, nil
		case "ListDeserializer":
			return nil, thrown(classConfig, "Not able to determine the list class because it was neither passed via the constructor nor set in the config.")
		}
	}
	return nil, thrown("java.lang.ClassNotFoundException", "%s", class)
}

// sized is for numbers; who is the name that the exception gives.
func sized(who string, n int, text func([]byte) string) deserializer {
	return func(b []byte) (string, error) {
		if len(b) != n {
			return "", thrown(classSerialization, "Size of data received by %s is not %d", who, n)
		}
		return text(b), nil
	}
}

func printBoolean(b []byte) (string, error) {
	if len(b) != 1 {
		return "", thrown(classSerialization, "Size of data received by BooleanDeserializer is not 1")
	}
	switch b[0] {
	case 0:
		return "false", nil
	case 1:
		return "true", nil
	}
	return "", thrown(classSerialization, "Unexpected byte received by BooleanDeserializer: %d", int8(b[0]))
}

// printByteArray is Object.toString of an array: its identity, which here follows from what is in it.
func printByteArray(b []byte) (string, error) {
	return fmt.Sprintf("[B@%x", crc32.ChecksumIEEE(b)), nil
}

func printBytes(b []byte) (string, error) {
	var s strings.Builder
	for _, c := range b {
		if c >= ' ' && c <= '~' && c != '\\' {
			s.WriteByte(c)
		} else {
			fmt.Fprintf(&s, "\\x%02X", c)
		}
	}
	return s.String(), nil
}

func printByteBuffer(b []byte) (string, error) {
	return fmt.Sprintf("java.nio.HeapByteBuffer[pos=0 lim=%d cap=%d]", len(b), len(b)), nil
}

// uuidPattern is what java.util.UUID.fromString takes: fewer digits count as zeros in front.
var uuidPattern = regexp.MustCompile(`^([0-9a-fA-F]{1,8})-([0-9a-fA-F]{1,4})-([0-9a-fA-F]{1,4})-([0-9a-fA-F]{1,4})-([0-9a-fA-F]{1,12})$`)

func printUUID(b []byte) (string, error) {
	m := uuidPattern.FindStringSubmatch(string(b))
	if m == nil {
		return "", thrown(classSerialization, "Error parsing data into UUID")
	}
	return fmt.Sprintf("%08s-%04s-%04s-%04s-%012s", strings.ToLower(m[1]), strings.ToLower(m[2]), strings.ToLower(m[3]),
		strings.ToLower(m[4]), strings.ToLower(m[5])), nil
}

// javaFloating is Float.toString (32 bits) or Double.toString (64).
func javaFloating(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	if a := math.Abs(v); a == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(v, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'E', -1, bits), "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent) // FormatFloat writes a number there
	return mantissa + "E" + strconv.Itoa(n)
}
