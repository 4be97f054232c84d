import type { ComponentChildren } from 'preact';

interface Props {
  heads?: readonly ComponentChildren[];
  right?: number; // first column with right-aligned headings, above numbers
  kind?: string; // additional CSS class
  testid?: string;
  children: ComponentChildren; // the rows
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
