package userlog

import (
	"reflect"
	"strings"
	"testing"
)

func TestResourceTable(t *testing.T) {
	for _, c := range []struct {
		rows []Resource
		want []string
	}{
		{nil, nil},
		{
			[]Resource{{Name: "Cpus", Usage: "0.98", Request: "1", Allocated: "4"}, {Name: "Disk (KB)", Request: "2", Allocated: "1234567890"}},
			[]string{
				"\tPartitionable Resources :    Usage  Request  Allocated",
				"\t   Cpus                 :     0.98        1          4",
				"\t   Disk (KB)            :                 2 1234567890",
			},
		},
		{
			[]Resource{{Name: "GPUs", Request: "1", Allocated: "1", Assigned: `"GPU-1"`}, {Name: "A resource with a long name"}},
			[]string{
				"\tPartitionable Resources        :    Usage  Request Allocated Assigned",
				"\t   GPUs                        :                 1         1 \"GPU-1\"",
				"\t   A resource with a long name :                             ",
			},
		},
	} {
		if got := ResourceTable(c.rows); !reflect.DeepEqual(got, c.want) {
			t.Errorf("ResourceTable(%v) =\n%s\nwant\n%s", c.rows, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
