import type { Order } from './palette-actions';

export interface Found {
  kind: string;
  title: string;
  detail: string;
  href?: string; // if missing, the entry is an action
  act?: () => void;
  asks?: Order; // requires confirmation
}

const PER_KIND = 6;
const ALL = 40;

// Returns a rank (lower is better), or null if there is no match. Every word must occur in the title or the detail.
export function rank({ title, detail, kind }: Found, words: readonly string[]): number | null {
  const name = title.toLowerCase();
  const all = `${name} ${detail.toLowerCase()} ${kind}`;
  if (!words.every((word) => all.includes(word))) return null;
  const first = words[0] ?? '';
  return name === words.join(' ') ? 0 : name.startsWith(first) ? 1 : name.includes(first) ? 2 : 3;
}

// Limits the results of each kind, so that 10,000 workers do not hide a job.
export function bestOf(all: Iterable<Found>, typed: string): Found[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const kinds = new Map<string, [number, Found][]>();
  for (const one of all) {
    const mine = rank(one, words);
    if (mine === null) continue;
    const kept = kinds.get(one.kind) ?? [];
    kinds.set(one.kind, kept);
    if (kept.length < PER_KIND) kept.push([mine, one]);
    else {
      const worst = kept.reduce((at, [r], n) => (r > kept[at]![0] ? n : at), 0);
      if (mine < kept[worst]![0]) kept[worst] = [mine, one];
    }
  }
  return [...kinds.values()]
    .flat()
    .sort(([a], [b]) => a - b)
    .slice(0, ALL)
    .map(([, one]) => one);
}

// Opens IDs directly, because the server may know objects that no list contains.
export function named(typed: string): { kind: 'job' | 'closure' | 'program' | 'object'; id: string } | null {
  const id = typed.trim().toLowerCase();
  if (/^job_[0-9a-f]{16}$/.test(id)) return { kind: 'job', id };
  if (/^prog_[0-9a-f]{16}$/.test(id)) return { kind: 'program', id };
  if (/^obj_[0-9a-f]{16}$/.test(id)) return { kind: 'object', id };
  if (/^rv_[0-9a-f]{16}$/.test(id)) return { kind: 'closure', id: id.replace('rv_', 'cl_') };
  return /^cl_[0-9a-f]{16}$/.test(id) ? { kind: 'closure', id } : null;
}
