/** Kinds of processes of the built program; each loads its part of the program. */

export const startProgram = async (): Promise<void> => (await import('../cli/program.js')).runProgram();
export const startNetworkProcess = async (): Promise<void> => void (await import('../testing/network-process.js'));
