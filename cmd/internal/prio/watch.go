package prio

import (
	"fmt"
	"strings"

	"fairspool/cmd/internal/selection"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// waitsFor returns the clusters that jobs wait for after a change, and whether the change
// is about that.
func (ch change) waitsFor() (clusters []int, is bool) {
	if !strings.EqualFold(ch.attr, jobpolicy.AttrAfterOk) && !strings.EqualFold(ch.attr, jobpolicy.AttrAfterAny) {
		return nil, false
	}
	v, _ := ch.expr.Constant()
	text, ok := v.Text()
	if !ok {
		text = v.String()
	}
	clusters, _ = jobpolicy.ParseClusters(text) // what cannot be read means none
	return clusters, true
}

// waitsInVain tells why jobs of a cluster would wait for ever by a change, empty if
// they would not.
func (ch change) waitsInVain(tx *spool.Tx, cluster int) string {
	clusters, _ := ch.waitsFor()
	for _, of := range clusters {
		switch {
		case of == cluster:
			return fmt.Sprintf("%s: they would wait for themselves", ch.attr)
		case of >= tx.NextCluster():
			return fmt.Sprintf("%s: there is no cluster %d", ch.attr, of)
		case of > cluster: // else jobs might wait for one another
			return fmt.Sprintf("%s: cluster %d was submitted after them: they can only wait for one from before", ch.attr, of)
		}
	}
	return ""
}

// watch begins to watch the clusters that a change has made relevant.
func (ch change) watch(tx *spool.Tx, procs selection.Procs) {
	if strings.EqualFold(ch.attr, pool.AttrJobNotification) || strings.EqualFold(ch.attr, pool.AttrNotifyUser) {
		lifecycle.Watch(tx, procs.Cluster)
	}
	clusters, is := ch.waitsFor()
	if !is {
		return
	}
	for _, of := range clusters {
		lifecycle.Watch(tx, of)
	}
	if procs.Run.Ad.Has(jobpolicy.AttrDependenciesMet) { // of the clusters before
		tx.SetRange(procs.Procs, jobpolicy.AttrDependenciesMet, nil)
	}
}
