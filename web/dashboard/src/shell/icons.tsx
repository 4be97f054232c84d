import type { Path } from '../shared/model/pages';

const DRAWN: Partial<Record<Path, string>> = {
  '/': 'M2 9h5V2H2zM9 14h5V7H9zM2 14h5v-3H2zM9 5h5V2H9z',
  '/jobs': 'M2 4h2M2 8h2M2 12h2M6.5 4H14M6.5 8H14M6.5 12H14',
  '/programs': 'M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10.5h3',
  '/logs': 'M2 3.5h9M2 7h4M2 10.5h3M10 11.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6M12 10.8l2 2.2',
  '/stream': 'M2 4h6M5 8h9M2 12h4M9 12h5',
  '/values': 'M8 2l6 3v6l-6 3-6-3V5zM2 5l6 3 6-3M8 8v6',
  '/per-worker': 'M3 2.5h10v4H3zM3 9.5h10v4H3zM5 4.5h1M5 11.5h1',
  '/objects': 'M8 2l5.5 4-2 7h-7l-2-7z',
  '/gangs': 'M5 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4M11 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4M2 13.5c0-3 1.5-4.5 3-4.5s3 1.5 3 4.5M8 13.5c0-3 1.5-4.5 3-4.5s3 1.5 3 4.5',
  '/sessions': 'M2 5.5h9L8.5 3M14 10.5H5L7.5 13',
  '/tasks': 'M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5h4v4h-4z',
  '/events': 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 4.5V8l2.5 1.5',
  '/barriers': 'M8 2v12M2.5 5h3M2.5 8h3M2.5 11h3M10.5 8h3',
  '/stragglers': 'M2 4h10M2 8h6M2 12h12',
  '/kv': 'M5.5 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6M7.5 8 13 2.5M11 4.5l2 2',
};

export function Icon({ of }: { of: Path }) {
  const d = DRAWN[of];
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      {d && <path d={d} fill="none" stroke="currentColor" stroke-width="1.3" stroke-linejoin="round" stroke-linecap="round" />}
    </svg>
  );
}
