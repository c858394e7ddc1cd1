// Asks the worker one question at a time. Only the newest question waits; its answer replaces those of older ones.
const PATIENCE = 4_000; // milliseconds that a newer question waits for an older one, which is ended then

export class Engine {
  #worker;
  #asked = null; // what the worker works on
  #next = null;
  #timer = 0;
  #ready = false;

  constructor(heard) {
    this.heard = heard;
    this.#start();
  }

  ask(question) {
    this.#next = question;
    if (!this.#asked) this.#proceed();
    else if (this.#ready) this.#timer ||= setTimeout(() => this.#restart(), PATIENCE);
  }

  #start() {
    this.#ready = false;
    this.#worker = new Worker("worker.js", { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#take(data);
    this.#worker.onerror = () => this.#take({ fatal: "The engine could not start; reload the page." });
  }

  #restart() {
    this.#worker.terminate();
    this.#asked = null;
    this.#start();
    this.#proceed();
  }

  #proceed() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (this.#asked || !this.#next) return;
    [this.#asked, this.#next] = [this.#next, null];
    this.#worker.postMessage(this.#asked);
  }

  #take(message) {
    if (message.ready) {
      this.#ready = true;
      return this.heard(message, null);
    }
    const question = this.#asked;
    this.#asked = null;
    if (!this.#next) this.heard(message, question); // an answer that nobody waits for any more is dropped
    if (message.fatal && this.#ready) this.#restart();
    else this.#proceed();
  }
}
