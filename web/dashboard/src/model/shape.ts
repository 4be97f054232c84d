// The shape that marks a state; parts/shape.tsx draws it.
export type Shape = 'connected' | 'late' | 'running' | 'restarting' | 'error' | 'disconnected' | 'waiting' | 'put-back';
