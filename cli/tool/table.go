package tool

import "strings"

// printTable is ToolsUtils.prettyPrintTable: columns as wide as their widest cell, each followed by a tab.
func (e *Env) printTable(titles []string, rows [][]string) {
	widths := make([]int, len(titles))
	all := append([][]string{titles}, rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf16Len(cell))
		}
	}
	var b strings.Builder
	for _, row := range all {
		for i, cell := range row {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-utf16Len(cell)) + "\t")
		}
		b.WriteByte('\n')
	}
	e.printf("%s", b.String())
}
