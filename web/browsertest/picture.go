package browsertest

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"slices"
)

// paletted returns a picture with its 256 most frequent colours, which are nearly all that a page has: such a file is a third as long.
func paletted(p image.Image) *image.Paletted {
	type entry struct {
		c color.RGBA
		n int
	}
	seen := map[color.RGBA]int{}
	b := p.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			seen[color.RGBAModel.Convert(p.At(x, y)).(color.RGBA)]++
		}
	}
	var all []entry
	for c, n := range seen {
		all = append(all, entry{c, n})
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.c.R, b.c.R), cmp.Compare(a.c.G, b.c.G), cmp.Compare(a.c.B, b.c.B))
	})
	var colours color.Palette
	for _, e := range all[:min(len(all), 256)] {
		colours = append(colours, e.c)
	}
	out := image.NewPaletted(b, colours)
	draw.Draw(out, b, p, b.Min, draw.Src)
	return out
}
