package extracttext

import "bytes"

// Jobs is what an extract of jobs says: the lines of ads of clusters and of runs, each once, the runs of clusters, and the clusters that
// are to be read in the segment. The lists are good until the next extract is read into it.
type Jobs struct {
	Clusters, Runs [][]byte
	Rows           []Row
	Others         []int
}

// Row is a run of a cluster. The rows of one cluster follow each other, and their procs ascend.
type Row struct {
	Cluster, First, Last int
	Seq                  uint64
	Ad, Run              int  // the places of both ads
	Apart                bool // At is QDate and EnteredCurrentStatus, which the ads do not have
	At                   [2]int64
}

// Read reads the lines, and reports whether they are right.
func (j *Jobs) Read(r Lines) bool {
	j.Clusters, j.Runs, j.Rows, j.Others = j.Clusters[:0], j.Runs[:0], j.Rows[:0], j.Others[:0]
	for len(r.Rest) > 2 && !r.Bad {
		kind := r.Rest[0]
		r.Rest = r.Rest[2:]
		switch kind {
		case 'K':
			j.Clusters = append(j.Clusters, r.Ad())
		case 'R':
			j.Runs = append(j.Runs, r.Ad())
		case 'J', 'j':
			j.cluster(&r, kind == 'J')
		case 'P':
			j.Others = append(j.Others, r.Number())
		default:
			return false
		}
	}
	return !r.Bad && len(r.Rest) == 0
}

// cluster reads the rows of a cluster.
func (j *Jobs) cluster(r *Lines, apart bool) {
	behind := len(r.Rest) - bytes.IndexByte(r.Rest, '\n') - 1 // bytes
	row := Row{Cluster: r.Number(), Ad: r.Number(), Apart: apart, Last: -1}
	if apart {
		row.At = [2]int64{int64(r.Number()), int64(r.Number())}
	}
	begin := len(j.Rows)
	for len(r.Rest) > behind && !r.Bad {
		before := row.Last
		row.First, row.Last = r.Number(), r.Number()
		row.Seq, row.Run = uint64(r.Number()), r.Number()
		r.Bad = r.Bad || row.First <= before || row.Last < row.First || row.Run < 0 || row.Run >= len(j.Runs)
		j.Rows = append(j.Rows, row)
	}
	r.Bad = r.Bad || len(r.Rest) != behind || len(j.Rows) == begin || row.Ad < 0 || row.Ad >= len(j.Clusters)
}
