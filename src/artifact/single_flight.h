// One computation a key at a time in this process: others that ask meanwhile wait and share the outcome.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace ferrule {

template <typename Value>
class SingleFlight {
 public:
  // Calls make() unless a call for `key` is under way in another thread; then waits for that one. An exception of
  // make() reaches every waiter.
  template <typename Make>
  Value run(const std::string& key, Make make) {
    std::unique_lock guard(mutex_);
    std::shared_ptr<Flight>& slot = flights_[key];
    // A flight from before a fork has no thread here that would end it.
    if (slot && slot->process == getpid()) {
      std::shared_ptr<Flight> flight = slot;
      landed_.wait(guard, [&] { return flight->value || flight->error; });
      if (flight->error) std::rethrow_exception(flight->error);
      return *flight->value;
    }
    std::shared_ptr<Flight> flight = slot = std::make_shared<Flight>();
    guard.unlock();
    std::optional<Value> value;
    std::exception_ptr error;
    try {
      value = make();
    } catch (...) {
      error = std::current_exception();
    }
    guard.lock();
    flight->value = value;
    flight->error = error;
    flights_.erase(key);
    guard.unlock();
    landed_.notify_all();
    if (error) std::rethrow_exception(error);
    return std::move(*value);
  }

 private:
  struct Flight {
    pid_t process = getpid();
    std::optional<Value> value;
    std::exception_ptr error;
  };
  std::mutex mutex_;
  std::condition_variable landed_;
  std::map<std::string, std::shared_ptr<Flight>> flights_;
};

}  // namespace ferrule
