import { closureOf } from './views';

export type Piece = { text: string; kind: 'text' | 'job' | 'closure' | 'task' };

const IDS = /\b(?:job|cl|rv)_[0-9a-f]{16}\b/g;

// `tasks` contains workers known to occur in the text, because "worker:3" alone is ambiguous.
export function pieces(text: string, tasks: readonly string[] = []): Piece[] {
  const found: { at: number; piece: Piece }[] = [];
  for (const match of text.matchAll(IDS)) found.push({ at: match.index, piece: { text: match[0], kind: match[0].startsWith('job_') ? 'job' : 'closure' } });
  for (const task of new Set(tasks)) {
    if (!task) continue;
    for (let at = text.indexOf(task); at >= 0; at = text.indexOf(task, at + task.length)) {
      const whole = !/[\w:.-]/.test(text[at - 1] ?? ' ') && !/\w/.test(text[at + task.length] ?? ' ');
      if (whole) found.push({ at, piece: { text: task, kind: 'task' } });
    }
  }
  found.sort((a, b) => a.at - b.at);
  const all: Piece[] = [];
  let end = 0;
  for (const { at, piece } of found) {
    if (at < end) continue;
    if (at > end) all.push({ text: text.slice(end, at), kind: 'text' });
    all.push(piece);
    end = at + piece.text.length;
  }
  if (end < text.length) all.push({ text: text.slice(end), kind: 'text' });
  return all;
}

// A value's ID has the same number as its closure's ID.
export const closureIn = (piece: Piece): string => closureOf(piece.text);
