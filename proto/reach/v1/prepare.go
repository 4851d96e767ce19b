package reachv1

import "google.golang.org/protobuf/runtime/protoimpl"

// Prepare makes ready what the first message of each type of a census would wait
// for: how it is read and written is worked out when a type is first met, which
// takes milliseconds for all of them. It may run beside anything else.
func Prepare() {
	for _, types := range [][]protoimpl.MessageInfo{file_reach_v1_analyser_proto_msgTypes, file_reach_v1_census_proto_msgTypes} {
		for i := range types {
			// The types of entries of maps have no messages of their own.
			if m := &types[i]; m.GoReflectType != nil {
				m.New().ProtoMethods()
			}
		}
	}
}
