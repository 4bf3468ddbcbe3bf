/** What a process of the built program can be; each loads its part of the program. */

export const runProgram = async (): Promise<void> => (await import('../cli/program.js')).runProgram();
export const runNetworkProcess = async (): Promise<void> => void (await import('../testing/network-process.js'));
