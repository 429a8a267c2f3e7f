package tool

import (
	"encoding/hex"
	"testing"
)

// What each class makes of these bytes was printed by Apache Kafka 4.4.0.
func TestDeserializers(t *testing.T) {
	f := func(name, bytes, want string) {
		t.Helper()
		d, err := newDeserializer(serializationPackage + name + "Deserializer")
		if err != nil {
			t.Fatal(err)
		}
		b, err := hex.DecodeString(bytes)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d(b)
		if err != nil {
			got = javaToString(err)
		}
		if got != want {
			t.Errorf("%s of %s: got %q, want %q", name, bytes, got, want)
		}
	}
	const bad = "org.apache.kafka.common.errors.SerializationException: "
	f("String", "c328", "\uFFFD(")
	f("Integer", "0000012c", "300")
	f("Integer", "6e756c6c", "1853189228")
	f("Integer", "01", bad+"Size of data received by IntegerDeserializer is not 4")
	f("Long", "ff00000000000005", "-72057594037927931")
	f("Long", "", bad+"Size of data received by LongDeserializer is not 8")
	f("Short", "c328", "-15576")
	f("Float", "6e756c6c", "1.8988725E28")
	f("Float", "0000012c", "4.2E-43")
	f("Float", "41200000", "10.0")
	f("Float", "00", bad+"Size of data received by Deserializer is not 4")
	f("Double", "ff00000000000005", "-5.486124068793695E303")
	f("Double", "400921fb54442d18", "3.141592653589793")
	f("Double", "7ff0000000000000", "Infinity")
	f("Boolean", "01", "true")
	f("Boolean", "0101", bad+"Size of data received by BooleanDeserializer is not 1")
	f("Boolean", "ff", bad+"Unexpected byte received by BooleanDeserializer: -1")
	f("UUID", hex.EncodeToString([]byte("1-2222-3333-4444-555555555555")), "00000001-2222-3333-4444-555555555555")
	f("UUID", "00", bad+"Error parsing data into UUID")
	f("Bytes", "615c62c3a90a", `a\x5Cb\xC3\xA9\x0A`)
	f("ByteBuffer", "0102", "java.nio.HeapByteBuffer[pos=0 lim=2 cap=2]")
	f("Void", "", "java.lang.IllegalArgumentException: Data should be null for a VoidDeserializer.")
}

func TestUnknownDeserializer(t *testing.T) {
	for _, class := range []string{"foo.Bar", serializationPackage + "FooDeserializer"} {
		_, err := newDeserializer(class)
		if want := "java.lang.ClassNotFoundException: " + class; err == nil || javaToString(err) != want {
			t.Errorf("%s: got %v, want %s", class, err, want)
		}
	}
}

func TestJavaFloating(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		if got := javaFloating(v, 64); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(1, "1.0")
	f(0.001, "0.001")
	f(0.0009999, "9.999E-4")
	f(1e7, "1.0E7")
	f(9999999, "9999999.0")
	f(123456789.5, "1.234567895E8")
	f(1e-5, "1.0E-5")
}
