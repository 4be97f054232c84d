import type { ComponentChildren } from 'preact';

interface Props {
  heads?: readonly ComponentChildren[];
  right?: number; // index of the first column with right-aligned headings, which are above numbers
  kind?: string;
  testid?: string;
  children: ComponentChildren;
}

export function Table({ heads, right = Infinity, kind, testid, children }: Props) {
  return (
    <table class={kind ? `table ${kind}` : 'table'} data-testid={testid}>
      {heads && (
        <thead>
          <tr>
            {heads.map((head, n) => (
              <th key={n} scope="col" class={n >= right ? 'right' : ''}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>{children}</tbody>
    </table>
  );
}
