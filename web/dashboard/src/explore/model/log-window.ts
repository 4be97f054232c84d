import type { RankLog } from '../../shared/model/programs';

export interface LogWindow {
  from: number; // byte offset of `before`
  before: string;
  after: string; // begins with the requested line
  to: number; // byte offset of the end of `after`
  size: number;
  known: boolean;
}

export const PIECE = 32_768; // bytes per request
export const WINDOW_MAX = 1_000_000; // characters shown

export const nothingRead = (line: number): LogWindow => ({ from: line, before: '', after: '', to: line, size: 0, known: true });

export const mayGoBack = (w: LogWindow): boolean => w.known && w.from > 0 && w.before.length + w.after.length < WINDOW_MAX;
export const mayGoOn = (w: LogWindow): boolean => w.known && w.to < w.size && w.before.length + w.after.length < WINDOW_MAX;

export const above = (w: LogWindow): [offset: number, bytes: number] => [Math.max(0, w.from - PIECE), Math.min(PIECE, w.from)];

// If the worker no longer has the requested output, the chunk is longer than requested or begins later.
export function withAbove(w: LogWindow, piece: RankLog): LogWindow {
  if (!piece.known || piece.offset >= w.from || piece.next_offset !== w.from) return { ...w, from: 0, size: Math.max(w.size, piece.size) };
  return { ...w, from: piece.offset, before: piece.data + w.before, size: Math.max(w.size, piece.size) };
}

export function withBelow(w: LogWindow, piece: RankLog): LogWindow {
  if (!piece.known) return { ...w, known: w.after !== '' };
  const kept = piece.offset === w.to; // false if the worker no longer has the line itself
  return { ...w, after: kept ? w.after + piece.data : w.after, to: kept ? piece.next_offset : w.to, size: piece.size, known: kept || w.after !== '' };
}

// Omits an incomplete first line.
export function parts({ from, before, after }: LogWindow): { before: string; line: string; after: string } {
  const end = after.indexOf('\n');
  return {
    before: from > 0 ? before.slice(before.indexOf('\n') + 1) : before,
    line: end < 0 ? after : after.slice(0, end),
    after: end < 0 ? '' : after.slice(end + 1),
  };
}
