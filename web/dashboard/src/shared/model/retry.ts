export interface Retried {
  made: readonly string[];
  refused: ReadonlyMap<string, string>;
}

// A job that cannot be retried does not stop the remaining jobs. `each` is called after each new job.
export async function retryEach(ids: readonly string[], retry: (id: string) => Promise<unknown>, each: (id: string) => void = () => {}): Promise<Retried> {
  const made: string[] = [];
  const refused = new Map<string, string>();
  for (const id of ids)
    try {
      await retry(id);
      made.push(id);
      each(id);
    } catch (error) {
      refused.set(id, error instanceof Error ? error.message : String(error));
    }
  return { made, refused };
}

export function refusalLine({ made, refused }: Retried): string {
  const reasons = [...refused].map(([id, why]) => `${id}: ${why}`);
  return `${refused.size} of ${made.length + refused.size} jobs were not retried. ${reasons.join('; ')}`;
}
