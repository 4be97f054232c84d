export interface NamedRows<Row> {
  rows: Record<string, Row>;
  gone: string[];
  more: number;
}

export class RowSet<Row> {
  version = 0; // number of changes so far
  more = 0; // number of rows that the server omitted
  private byName = new Map<string, Row>();
  private list: readonly Row[] | null = null;

  apply(message: NamedRows<Row>, snapshot: boolean): void {
    if (snapshot) this.byName.clear();
    for (const name of message.gone) this.byName.delete(name);
    for (const [name, row] of Object.entries(message.rows)) this.byName.set(name, row);
    this.more = message.more;
    this.list = null;
    ++this.version;
  }

  get(name: string): Row | undefined {
    return this.byName.get(name);
  }

  all(): readonly Row[] {
    return (this.list ??= [...this.byName.values()]);
  }
}
