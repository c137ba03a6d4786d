// The model beside the page: a worker, and a promise for each question. Nothing is fetched before
// load is called. And numbers of it that were recorded.

export const bytes = (coded) => Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0)).buffer;
export const weightsOf = (coded) => Float32Array.from(new Uint16Array(bytes(coded)), (part) => part / 65535);

export function workerAt(folder) {
  const worker = new Worker(new URL("worker.js", folder), { type: "module" });
  const waiting = new Map();
  let count = 0;
  const ask = (question, told) =>
    new Promise((resolve, fail) => {
      waiting.set(++count, { resolve, fail, told });
      worker.postMessage({ number: count, ...question });
    });
  worker.onmessage = ({ data: { number, ...answer } }) => {
    const one = waiting.get(number);
    if ("total" in answer) return one.told(answer);
    waiting.delete(number);
    if (answer.error) one.fail(new Error(answer.error));
    else one.resolve(answer);
  };
  worker.onerror = () => waiting.forEach(({ fail }) => fail(new Error("the worker did not start")));
  return { ask, load: (told) => ask({ folder }, told), stop: () => worker.terminate() };
}
