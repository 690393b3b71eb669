package spool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairspool/lib/plural"
)

// factories writes the factories, by cluster, and behind each its digest, a block
// an ad.
func (d *dumping) factories() error {
	rows, err := d.state.factories.all()
	if err != nil {
		return err
	}
	for _, cluster := range slices.Sorted(maps.Keys(rows)) {
		f := rows[cluster]
		err := d.row("Factory", factoryAd(f))
		if err == nil {
			err = d.spool.eachDigestBlock(f, func(block []byte) error {
				d.begin("Digest")
				d.number("Cluster", int64(cluster))
				d.texts("Lines", strings.Split(string(block), "\n"))
				return d.end()
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// factories adds the factories whose digests are whole.
func (v *salvage) factories() error {
	rows := salvageRows(v, "factories", v.state.factories)
	for _, cluster := range slices.SortedFunc(maps.Keys(rows), cmp.Compare[int]) {
		f := rows[cluster]
		so := fmt.Sprintf("the factory of cluster %d is lost: its procs from %d on are not made", cluster, f.Next)
		path := v.s.path(digestName(cluster))
		if last, ok := v.last[cluster]; ok && last >= f.Next {
			v.losing(path, 0, "%s; what made proc %d is lost", so, last)
			continue
		}
		if v.failed(path, v.s.eachDigestBlock(f, func([]byte) error { return nil }), so) {
			continue
		}
		err := v.to.factory(f)
		if err == nil {
			err = v.s.eachDigestBlock(f, func(block []byte) error { return v.to.digest(cluster, block) })
		}
		if err != nil {
			return err
		}
		v.telling(path, "%s", plural.Count(int(f.bytes), "byte"))
	}
	return nil
}
