export type Part<T> = T extends readonly (infer Each)[] ? Part<Each>[] : T extends object ? { [Name in keyof T]?: Part<T[Name]> } : T;

// An answer of the server with what a test needs of it, and no more.
export const only = <T>(part: Part<T>): T => part as T;
