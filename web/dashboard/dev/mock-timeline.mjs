// Steps of an invented program: each rank performs a step every 900 ms; one program has 100,000 steps. One rank in eight is
// slower for a while. If there are few steps, they are listed individually.

const FEW = 10_000; // maximum number of steps listed individually; above this limit, steps are summed, as on the server

export function timelineOf(p, query) {
  const EACH = p.name === 'pretrain' ? 53.4 : 900;
  const began = p.created_ms + 60_000;
  const from = Math.max(Number(query.get('from_ms')) || began, began);
  const to = Math.min(Number(query.get('to_ms')) || Infinity, p.finished_ms || Date.now());
  const ranks = Math.min(p.ranks, Number(query.get('ranks') ?? 256));
  const buckets = Number(query.get('buckets') ?? 300);
  const slow = (rank, at) => rank % 8 === 3 && Math.floor((at - began) / 40_000) % 4 === 2;
  const each = Math.max(1, Math.ceil((to - from) / buckets));
  const head = { from_ms: from, until_ms: to, usual_us: EACH * 1000, slow_us: 2 * EACH * 1000 };
  const barriers = Array.from({ length: 12 }, (_, n) => {
    const ended = to - n * EACH * 3 - 400;
    return {
      attempt: p.attempt,
      id: `step_${4000 - n}`,
      counter: 0,
      began_ms: ended - 300,
      ended_ms: ended,
      ranks: Array.from({ length: ranks }, (_, rank) => rank),
      came_us: Array.from({ length: ranks }, (_, rank) => ((rank * 37 + n * 11) % 100) * 2000),
    };
  });
  if (((to - from) / EACH) * ranks < FEW) {
    const steps = { rank: [], step: [], end_us: [], took_us: [], count: [], longest_us: [] };
    for (let at = from + EACH; at < to; at += EACH)
      for (let rank = 0; rank < ranks; ++rank) {
        const late = slow(rank, at);
        const took = (late ? 2.2 : 0.9 + ((rank * 7919 + at) % 100) / 900) * EACH * 1000;
        if (late && Math.floor((at - began) / EACH) % 2) continue;
        for (const [name, value] of Object.entries({
          rank,
          step: Math.floor((at - began) / EACH),
          end_us: Math.round((at - from) * 1000),
          took_us: Math.round(took),
          count: 1,
          longest_us: Math.round(took),
        }))
          steps[name].push(value);
      }
    return { ...head, steps, barriers };
  }
  const lanes = Array.from({ length: ranks }, (_, rank) => {
    const at = (n) => from + n * each;
    const column = (f) => Array.from({ length: buckets }, (_, n) => f(n));
    return {
      rank,
      bucket: column((n) => n),
      steps: column(() => Math.round(each / EACH)),
      p50_us: column((n) => Math.round((slow(rank, at(n)) ? 1900 : 950 + ((n * 31 + rank * 7) % 90)) * EACH)),
      max_us: column((n) => Math.round((slow(rank, at(n)) ? 2900 : 1050 + ((n * 13 + rank) % 70)) * EACH)),
    };
  });
  return { ...head, bucket_us: each * 1000, lanes, barriers };
}
