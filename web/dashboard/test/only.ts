export type Part<T> = T extends readonly (infer Each)[] ? Part<Each>[] : T extends object ? { [Name in keyof T]?: Part<T[Name]> } : T;

// Returns a partial answer of the server, with only the members that a test needs.
export const only = <T>(part: Part<T>): T => part as T;
