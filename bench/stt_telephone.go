package bench

import (
	"context"

	"riposte/audio"
	"riposte/audio/room"
	"riposte/stt/wer"
)

// telephone hears by telephone what has been heard as it is.
func (b *STT) telephone(ctx context.Context, heard []STTHearing) *TelephoneWER {
	r := &TelephoneWER{ByLaw: map[room.Law]float64{}}
	var wide, narrow wer.Count
	for _, law := range room.Laws {
		var clips []Clip
		var indices []int
		for i, c := range b.Clips {
			narrowed, ok, err := c.byTelephone(law)
			if err != nil {
				r.Failed++
				continue
			}
			if ok {
				clips, indices = append(clips, narrowed), append(indices, i)
			}
		}
		all := make([]STTHearing, len(clips))
		b.spread(ctx, clips, all)
		var count wer.Count
		for i, c := range clips {
			b.tell(indices[i], c, all[i])
			if all[i].Err != nil {
				r.Failed++
			}
			count = count.Add(wer.WER(c.Transcript, all[i].Text))
			wide = wide.Add(wer.WER(c.Transcript, heard[indices[i]].Text))
		}
		narrow, r.ByLaw[law] = narrow.Add(count), count.Rate()
	}
	r.Wide, r.Telephone = wide.Rate(), narrow.Rate()
	return r
}

// byTelephone returns the clip as the service takes it from a telephone line, if it has speech that somebody wrote down and is wider than that.
func (c Clip) byTelephone(law room.Law) (Clip, bool, error) {
	pcm, rate, err := c.Sound()
	if err != nil || rate < audio.SpeechRate || c.Transcript == "" {
		return c, false, err
	}
	if pcm, err = room.Telephone(pcm, rate, law); err == nil {
		pcm, err = audio.Resample(pcm, audio.G711Rate, audio.SpeechRate)
	}
	c.PCM, c.Rate, c.File = pcm, audio.SpeechRate, c.File+" by "+string(law)
	return c, true, err
}
