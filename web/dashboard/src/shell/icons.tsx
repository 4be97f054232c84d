import type { Path } from '../shared/model/pages';

const DRAWN: Partial<Record<Path, string>> = {
  '/now': 'M2 9h5V2H2zM9 14h5V7H9zM2 14h5v-3H2zM9 5h5V2H9z',
  '/work': 'M2 4h2M2 8h2M2 12h2M6.5 4H14M6.5 8H14M6.5 12H14',
  '/explore': 'M2 3.5h9M2 7h4M2 10.5h3M10 11.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6M12 10.8l2 2.2',
  '/queue': 'M5 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4M11 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4M2 13.5c0-3 1.5-4.5 3-4.5s3 1.5 3 4.5M8 13.5c0-3 1.5-4.5 3-4.5s3 1.5 3 4.5',
  '/fleet': 'M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5h4v4h-4z',
  '/agreement': 'M8 2v12M2.5 5h3M2.5 8h3M2.5 11h3M10.5 8h3',
};

export function Icon({ of }: { of: Path }) {
  const d = DRAWN[of];
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      {d && <path d={d} fill="none" stroke="currentColor" stroke-width="1.3" stroke-linejoin="round" stroke-linecap="round" />}
    </svg>
  );
}
